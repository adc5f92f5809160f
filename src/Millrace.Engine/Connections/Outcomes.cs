namespace Millrace.Engine;

/// <summary>What a wait for input ended with.</summary>
public enum ReadOutcome
{
    /// <summary>There are bytes in <see cref="Connection.Input"/> that the handler has not seen.</summary>
    Data,

    /// <summary>The peer has sent its last byte; what it sent before is in <see cref="Connection.Input"/>. It may still read.</summary>
    End,

    /// <summary>The connection is broken: reset by the peer, or aborted here.</summary>
    Reset,

    /// <summary>The deadline that the handler set has passed. The connection is as it was.</summary>
    TimedOut,

    /// <summary>Only from <see cref="Connection.ReadIdleAsync"/>: the group stops, and nothing of a next request had come.</summary>
    Draining,
}

/// <summary>What a flush ended with.</summary>
public enum FlushOutcome
{
    /// <summary>Everything is with the kernel (for a pipe: no more than its limit is not).</summary>
    Sent,

    /// <summary>The peer is gone or the connection was aborted; what is written from now on is dropped.</summary>
    Closed,
}
