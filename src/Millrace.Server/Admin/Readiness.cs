namespace Millrace.Server.Admin;

/// <summary>Whether requests should be sent here.</summary>
internal enum Readiness
{
    /// <summary>Not yet: sites are being read.</summary>
    Starting,

    Ready,

    /// <summary>Not any more: what is under way is finished, and nothing new is taken.</summary>
    Draining,
}
