using System.Diagnostics.CodeAnalysis;
using Millrace.AspNetCore.Multiplexed.Streams;
using Millrace.Engine.Buffers;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// The contexts of a connection's streams that have ended, with what Kestrel keeps on them (some 10 KB each), for its next streams. Those
/// that were not needed for some seconds are dropped. Any thread.
/// </summary>
internal sealed class StreamReuse
{
    /// <summary>As many as a client may have open.</summary>
    private const int StreamsMax = 100;
    private const int SecondsKept = 5;

    private readonly Lock _lock = new();
    private readonly FreeStack<StreamConnection> _free = new();
    private int _seconds;

    public bool TryTake([NotNullWhen(true)] out StreamConnection? stream)
    {
        lock (_lock)
        {
            return _free.TryPop(out stream);
        }
    }

    public void Add(StreamConnection stream)
    {
        lock (_lock)
        {
            if (_free.Count < StreamsMax)
            {
                _free.Push(stream);
            }
        }
    }

    /// <summary>Called once a second.</summary>
    public void OnSecond()
    {
        lock (_lock)
        {
            if (++_seconds % SecondsKept == 0)
            {
                foreach (StreamConnection _ in _free.Trim(all: false))
                {
                    // Nothing of it is native.
                }
            }
        }
    }
}
