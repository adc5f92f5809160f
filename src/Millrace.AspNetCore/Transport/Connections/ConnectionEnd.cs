namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>How our side ends a connection.</summary>
internal enum EndKind
{
    /// <summary>All was sent: a FIN, and a moment for the peer to have it all.</summary>
    Orderly,

    /// <summary>At once, with a FIN.</summary>
    Finish,

    /// <summary>At once, with a reset.</summary>
    Reset,
}

/// <summary>The first end that somebody asked for, which is the one that counts.</summary>
internal sealed record ConnectionEnd(EndKind Kind, Exception Reason);
