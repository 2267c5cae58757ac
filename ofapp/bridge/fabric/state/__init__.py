"""What is known of a fabric and its members, and what each member is to hold of its bridge."""
