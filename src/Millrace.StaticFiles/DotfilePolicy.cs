namespace Millrace.StaticFiles;

/// <summary>What becomes of files and directories whose name starts with a dot.</summary>
public enum DotfilePolicy
{
    /// <summary>
    /// They do not exist for clients (a <c>.git</c> or <c>.env</c> left in a root is the classic leak), except
    /// <c>/.well-known/</c> in the root itself (RFC 8615).
    /// </summary>
    HiddenExceptWellKnown,

    /// <summary>They are served like any other file.</summary>
    Served,
}
