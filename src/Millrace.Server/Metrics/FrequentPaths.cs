using System.Text;
using Millrace.Server.AccessLog;

namespace Millrace.Server.Metrics;

/// <summary>
/// The most frequent paths of one reactor's requests of a kind, counted in fixed memory (Space-Saving: Metwally, Agrawal and El Abbadi,
/// 2005): a path without a slot takes that of the least frequent path. The reactor's thread adds; any thread reads.
/// </summary>
internal sealed class FrequentPaths
{
    /// <summary>A path of more than one request in so many has a slot.</summary>
    public const int SlotsMax = 64;

    /// <summary>Longer paths are counted by their beginning.</summary>
    public const int PathBytesMax = 120;

    private readonly Lock _lock = new();
    private readonly Slot[] _slots = new Slot[SlotsMax];
    private readonly byte[] _paths = new byte[SlotsMax * PathBytesMax];
    private int _used;

    /// <summary>
    /// Counts a request's target, without its query. Allocates nothing, and does not wait: requests that finish while another thread reads,
    /// for some microseconds, are not counted.
    /// </summary>
    public void Add(ReadOnlySpan<byte> target)
    {
        int query = target.IndexOf((byte)'?');
        ReadOnlySpan<byte> path = query < 0 ? target : target[..query];
        path = path[..Math.Min(path.Length, PathBytesMax)];
        if (!_lock.TryEnter())
        {
            return;
        }

        try
        {
            int index = Find(path);
            _slots[index < 0 ? Replace(path) : index].Count++;
        }
        finally
        {
            _lock.Exit();
        }
    }

    /// <summary>
    /// Adds the counts by path, escaped as in the access log. A count is what is certain: it has no request from before the path had its
    /// slot.
    /// </summary>
    public void AddTo(Dictionary<string, long> counts)
    {
        var line = new LineBuffer();
        lock (_lock)
        {
            for (int i = 0; i < _used; i++)
            {
                line.Clear();
                line.AddNcsa(PathAt(i));
                string path = Encoding.ASCII.GetString(line.Bytes);
                counts[path] = counts.GetValueOrDefault(path) + _slots[i].Count - _slots[i].Inherited;
            }
        }
    }

    private ReadOnlySpan<byte> PathAt(int index) => _paths.AsSpan(index * PathBytesMax, _slots[index].Bytes);

    private int Find(ReadOnlySpan<byte> path)
    {
        for (int i = 0; i < _used; i++)
        {
            if (PathAt(i).SequenceEqual(path))
            {
                return i;
            }
        }

        return -1;
    }

    /// <summary>Gives a path an unused slot, or that of the least frequent path with its count.</summary>
    private int Replace(ReadOnlySpan<byte> path)
    {
        int index = _used < SlotsMax ? _used++ : LeastFrequent();
        _slots[index].Inherited = _slots[index].Count;
        _slots[index].Bytes = path.Length;
        path.CopyTo(_paths.AsSpan(index * PathBytesMax));
        return index;
    }

    private int LeastFrequent()
    {
        int least = 0;
        for (int i = 1; i < SlotsMax; i++)
        {
            least = _slots[i].Count < _slots[least].Count ? i : least;
        }

        return least;
    }

    private struct Slot
    {
        /// <summary>The count of the path, and of the paths that had the slot before.</summary>
        public long Count;

        /// <summary>The part of the count that is theirs.</summary>
        public long Inherited;

        public int Bytes;
    }
}
