namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>How this side ends a connection.</summary>
internal enum EndKind
{
    /// <summary>All output is sent: a FIN, and a moment for the peer to receive everything.</summary>
    Orderly,

    /// <summary>At once, with a FIN.</summary>
    Finish,

    /// <summary>At once, with a reset.</summary>
    Reset,
}

/// <summary>The first end that was requested; later requests have no effect.</summary>
internal sealed record ConnectionEnd(EndKind Kind, Exception Reason);
