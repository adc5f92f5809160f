namespace Millrace.Engine.Connections;

/// <summary>How a connection's input ended.</summary>
internal enum ReceiveEnd : byte
{
    /// <summary>It has not.</summary>
    None,

    /// <summary>By the peer's FIN.</summary>
    Finished,

    /// <summary>By a reset, an error or an abort.</summary>
    Reset,
}

/// <summary>Where a connection stands on its way out. It only moves downwards.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>The slot is free.</summary>
    Free,

    /// <summary>The handler runs.</summary>
    Serving,

    /// <summary>The handler has returned; what it wrote is still being sent.</summary>
    Flushing,

    /// <summary>All is sent and our end is announced; waiting for the peer's.</summary>
    Lingering,

    /// <summary>Operations were cancelled; waiting for the kernel to let go of them.</summary>
    Closing,

    /// <summary>The socket is closed; waiting for the handler to return, and for memory that the kernel has sent from.</summary>
    Closed,
}
