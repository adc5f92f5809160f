namespace Millrace.StaticFiles.Catalog;

/// <summary>An entry that is not served, for the log.</summary>
/// <param name="Path">From the root; bytes that are no UTF-8 show as U+FFFD.</param>
/// <param name="Reason">Why.</param>
/// <param name="Error">The errno behind it, 0 where there was none.</param>
internal readonly record struct SkippedEntry(string Path, SkipReason Reason, int Error);
