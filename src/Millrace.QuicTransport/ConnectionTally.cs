using Millrace.Quic.Connections;

namespace Millrace.QuicTransport;

/// <summary>What of a connection has been added to its listener's counters. The connection's.</summary>
internal struct ConnectionTally
{
    private long _packetsLost;
    private int _migrations;

    /// <summary>Adds what is new.</summary>
    public void Update(QuicConnection connection, QuicListenerCounters counters)
    {
        long lost = connection.Recovery.PacketsLost;
        if (lost != _packetsLost)
        {
            counters.PacketsLost += lost - _packetsLost;
            _packetsLost = lost;
        }

        int migrations = connection.Paths.Migrations;
        if (migrations != _migrations)
        {
            counters.Migrations += migrations - _migrations;
            _migrations = migrations;
        }
    }
}
