using System.Diagnostics;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// What is known of one connection's closed streams (RFC 9113, section 5.1). Only the highest ids are known. Frames for lower ids are never
/// errors: any of these streams may be one that the server has reset, and the frames may have been sent before the client knew.
/// </summary>
internal sealed class StreamHistory
{
    /// <summary>More than the maximum number of concurrent streams. A power of two.</summary>
    public const int NumbersKnown = 128;

    private readonly StreamOutcome[] _outcomes = new StreamOutcome[NumbersKnown];

    /// <summary>The highest id that the client has used; 0 for none.</summary>
    public int LastId { get; private set; }

    /// <param name="id">An odd id above all opened ones.</param>
    public void Open(int id)
    {
        Debug.Assert((id & 1) == 1 && id > LastId);
        if (id - LastId > 2)
        {
            Skip(id);
        }

        LastId = id;
        _outcomes[IndexOf(id)] = StreamOutcome.Opened;
    }

    public void NoteReset(int id)
    {
        if (IsKnown(id))
        {
            _outcomes[IndexOf(id)] = StreamOutcome.Reset;
        }
    }

    /// <param name="id">An odd id, not above <see cref="LastId"/>.</param>
    public StreamOutcome Of(int id) => IsKnown(id) ? _outcomes[IndexOf(id)] : StreamOutcome.Forgotten;

    private static int IndexOf(int id) => (id >> 1) & (NumbersKnown - 1);

    private bool IsKnown(int id)
    {
        Debug.Assert((id & 1) == 1 && id <= LastId);
        return (LastId - id) >> 1 < NumbersKnown;
    }

    private void Skip(int to)
    {
        if ((to - LastId) >> 1 >= NumbersKnown)
        {
            Array.Clear(_outcomes);
            return;
        }

        for (int id = (LastId + 1) | 1; id < to; id += 2)
        {
            _outcomes[IndexOf(id)] = StreamOutcome.Skipped;
        }
    }
}

/// <summary>The outcome of a stream whose id is not above the highest one that the client has used.</summary>
internal enum StreamOutcome : byte
{
    /// <summary>The id was skipped and may no longer be used.</summary>
    Skipped,

    /// <summary>It was opened. If it is closed, the client has ended it or knows of its end.</summary>
    Opened,

    /// <summary>The server reset it, which the client may not know yet.</summary>
    Reset,

    /// <summary>The id is too far below the highest one.</summary>
    Forgotten,
}
