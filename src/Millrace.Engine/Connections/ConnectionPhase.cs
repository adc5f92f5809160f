namespace Millrace.Engine.Connections;

/// <summary>The phases of a connection, in order. <see cref="ConnectionPhases.MayBecome"/> is the table of its transitions.</summary>
internal enum ConnectionPhase : byte
{
    Free,

    /// <summary>The handler runs, or the connection is idle.</summary>
    Serving,

    /// <summary>The handler has returned; what it wrote is still being sent.</summary>
    Flushing,

    /// <summary>All is sent, and so is the FIN; waiting for the peer's.</summary>
    Lingering,

    /// <summary>Operations were cancelled; waiting for their completions.</summary>
    Closing,

    /// <summary>The socket is closed; waiting for the handler to return and for zero-copy notices.</summary>
    Closed,
}

/// <summary>The transitions between phases.</summary>
internal static class ConnectionPhases
{
    public static bool MayBecome(this ConnectionPhase phase, ConnectionPhase next) => phase switch
    {
        ConnectionPhase.Free => next is ConnectionPhase.Serving,
        ConnectionPhase.Serving => next is ConnectionPhase.Flushing or ConnectionPhase.Closing,
        ConnectionPhase.Flushing => next is ConnectionPhase.Lingering or ConnectionPhase.Closing,
        ConnectionPhase.Lingering => next is ConnectionPhase.Closing,
        ConnectionPhase.Closing => next is ConnectionPhase.Closed,
        _ => next is ConnectionPhase.Free,
    };
}
