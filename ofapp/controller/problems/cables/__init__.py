"""Cables between the bridges of a controller: remembered, stored, and missed."""
