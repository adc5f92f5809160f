namespace Millrace.StaticFiles.Catalog;

/// <summary>What became of a file while it was read.</summary>
internal enum BodyChange
{
    None,

    /// <summary>It is longer: something was appended, as to a log, and what was announced is still there.</summary>
    Grown,

    /// <summary>It was written over or cut: what was read may be half of one version and half of another.</summary>
    Rewritten,
}
