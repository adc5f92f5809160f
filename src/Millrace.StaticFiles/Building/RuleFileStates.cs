using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// What the files were that a site's rules were compiled from. Default: not there. One that was read too soon after its last change
/// (<see cref="FileState.IsSettledAt"/>) has a state that no file has.
/// </summary>
internal readonly record struct RuleFileStates(FileState Headers, FileState Redirects)
{
    /// <summary>The one that could not be read in these states, so that the rules are those of before.</summary>
    public SkippedEntry? Refused { get; init; }

    /// <summary>Whether the files are as they were, whatever became of reading them.</summary>
    public bool AreThoseOf(in RuleFileStates other) => Headers == other.Headers && Redirects == other.Redirects;
}
