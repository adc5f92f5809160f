namespace Millrace.Engine.Connections;

/// <summary>How a connection's input ended.</summary>
internal enum ReceiveEnd : byte
{
    /// <summary>Not yet.</summary>
    None,

    /// <summary>By the peer's FIN.</summary>
    Finished,

    /// <summary>By a reset, an error or an abort.</summary>
    Reset,
}

/// <summary>The phases of a connection, in order. A connection only moves down the list.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>The slot is free.</summary>
    Free,

    /// <summary>The handler runs.</summary>
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
