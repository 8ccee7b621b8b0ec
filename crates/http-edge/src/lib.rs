//! What every HTTP surface here needs: problem documents, the exposure guard, serving connections.
