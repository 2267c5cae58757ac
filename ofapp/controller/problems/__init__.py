"""Problems of this controller's network: found, remembered and acknowledged."""
