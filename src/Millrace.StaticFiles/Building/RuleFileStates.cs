namespace Millrace.StaticFiles.Building;

/// <summary>
/// What the files were that a site's rules were compiled from. Default: not there. One that was read too soon after its last change
/// (<see cref="FileState.IsSettledAt"/>) has a state that no file has.
/// </summary>
internal readonly record struct RuleFileStates(FileState Headers, FileState Redirects);
