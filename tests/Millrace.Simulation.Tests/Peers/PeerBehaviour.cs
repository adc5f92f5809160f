namespace Millrace.Simulation.Tests.Peers;

/// <summary>How a peer behaves.</summary>
internal enum PeerBehaviour
{
    /// <summary>Asks, reads, and closes when it has everything.</summary>
    Polite,

    /// <summary>Announces its end after its last request.</summary>
    HalfCloses,

    /// <summary>Waits for the server's end.</summary>
    Stays,

    /// <summary>Stops reading.</summary>
    NeverReads,

    /// <summary>Sends the last head little by little and never ends it.</summary>
    Trickles,

    /// <summary>Announces a body after its last request and sends a part.</summary>
    StallsBody,

    /// <summary>Resets the connection at any time.</summary>
    Resets,

    /// <summary>Closes at any time, whatever is still to come.</summary>
    Leaves,

    /// <summary>Reads about as slowly as it may, or more slowly.</summary>
    ReadsSlowly,

    /// <summary>Is gone at any time, and nobody is told.</summary>
    Vanishes,

    /// <summary>Sends requests without end and reads nothing.</summary>
    Floods,
}
