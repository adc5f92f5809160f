namespace Millrace.StaticFiles.Building;

/// <summary>
/// What the files were that a site's rules were compiled from. Default: not there, or to be read again, see
/// <see cref="FileState.IsSettledAt"/>.
/// </summary>
internal readonly record struct RuleFileStates(FileState Headers, FileState Redirects);
