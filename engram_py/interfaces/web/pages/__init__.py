"""The pages by what they show; each module registers its own."""
