"""All bridges of this controller, and the one door for every change that somebody asks for."""
