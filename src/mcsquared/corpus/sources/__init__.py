"""Sources of corpora: files, frames, arrays, texts, AnnData and Parquet."""
