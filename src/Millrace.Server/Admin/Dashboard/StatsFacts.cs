namespace Millrace.Server.Admin.Dashboard;

/// <summary>What the live page says of the server besides its samples.</summary>
internal readonly record struct StatsFacts(
    string Version,
    string Backend,
    Readiness Readiness,
    string? Trouble,
    int Reactors,
    long Assets,
    long StartedAtMs,
    long Requests,
    long BodyBytes);
