namespace Millrace.Engine;

/// <summary>How a wait for input ended.</summary>
public enum ReadOutcome
{
    /// <summary>There are bytes in <see cref="Connection.Input"/> that the handler has not seen.</summary>
    Data,

    /// <summary>The peer has sent its last byte; what it sent before is in <see cref="Connection.Input"/>. It may still read.</summary>
    End,

    /// <summary>The connection is broken: reset by the peer, or aborted locally.</summary>
    Reset,

    /// <summary>The handler's deadline has passed. The connection is unchanged.</summary>
    TimedOut,

    /// <summary>Only from <see cref="Connection.ReadIdleAsync"/>: the group stops, and no byte of a next request had arrived.</summary>
    Draining,
}

/// <summary>How a flush ended.</summary>
public enum FlushOutcome
{
    /// <summary>The kernel has everything (for a pipe: all but its limit of unsent bytes).</summary>
    Sent,

    /// <summary>The peer is gone or the connection was aborted; further output is dropped.</summary>
    Closed,
}
