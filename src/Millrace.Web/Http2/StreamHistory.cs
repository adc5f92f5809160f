using System.Diagnostics;

namespace Millrace.Web.Http2;

/// <summary>
/// What is known of the streams of one connection that are not there any more (RFC 9113, section 5.1). It is known of the highest numbers;
/// of those below nothing is held against anybody: any of them may be one that we have reset, however many came behind it, and what comes
/// for it may have been sent before the client knew.
/// </summary>
internal sealed class StreamHistory
{
    /// <summary>More than there are streams at a time. A power of two.</summary>
    public const int NumbersKnown = 128;

    private readonly StreamFate[] _fates = new StreamFate[NumbersKnown];

    /// <summary>The highest number that the client has used; 0 for none.</summary>
    public int LastId { get; private set; }

    /// <param name="id">Odd, and above all that were opened.</param>
    public void Open(int id)
    {
        Debug.Assert((id & 1) == 1 && id > LastId);
        if (id - LastId > 2)
        {
            Skip(id);
        }

        LastId = id;
        _fates[IndexOf(id)] = StreamFate.Opened;
    }

    public void NoteReset(int id)
    {
        if (IsKnown(id))
        {
            _fates[IndexOf(id)] = StreamFate.Reset;
        }
    }

    /// <param name="id">Odd, and none above <see cref="LastId"/>.</param>
    public StreamFate Of(int id) => IsKnown(id) ? _fates[IndexOf(id)] : StreamFate.Forgotten;

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
            Array.Clear(_fates);
            return;
        }

        for (int id = (LastId + 1) | 1; id < to; id += 2)
        {
            _fates[IndexOf(id)] = StreamFate.Skipped;
        }
    }
}
