namespace Millrace.StaticFiles.Planning;

/// <summary>Whether a request may be answered with what is on the site. The first is the safe one: what is undecided is refused.</summary>
internal enum Admission : byte
{
    /// <summary>No credentials, or wrong ones: 401.</summary>
    Denied,

    Granted,

    /// <summary>The credentials are new, and nobody knows yet.</summary>
    Unverified,

    /// <summary>Nobody has time to find out: 503.</summary>
    Overloaded,
}
