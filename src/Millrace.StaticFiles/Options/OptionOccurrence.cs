namespace Millrace.StaticFiles.Options;

/// <summary>How often an option may be given.</summary>
internal enum OptionOccurrence
{
    /// <summary>Once; where several sources name it, the last one holds.</summary>
    Once,

    /// <summary>Each time adds to the times before.</summary>
    Repeatable,
}
