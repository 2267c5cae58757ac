"""Fabrics as datapaths: several switches with one bridge."""
