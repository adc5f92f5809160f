using System.Globalization;

namespace Millrace.Server.Precompress;

/// <summary>Counts the results of a precompression. Any thread.</summary>
internal sealed class PrecompressTotals
{
    private readonly Lock _adding = new();
    private readonly List<string> _failures = [];
    private int _written;
    private int _fresh;
    private int _larger;
    private long _bytes;
    private long _codedBytes;

    /// <summary>Messages about failures.</summary>
    public IReadOnlyList<string> Failures => _failures;

    public string Summary => string.Create(
        CultureInfo.InvariantCulture,
        $"{_written} written ({_bytes:N0} bytes as {_codedBytes:N0}), {_fresh} up to date, "
            + $"{_larger} not smaller, {_failures.Count} failed");

    public void AddWritten(int bytes, int codedBytes)
    {
        lock (_adding)
        {
            _written++;
            _bytes += bytes;
            _codedBytes += codedBytes;
        }
    }

    public void AddFresh()
    {
        lock (_adding)
        {
            _fresh++;
        }
    }

    /// <summary>Counts a file that compression does not make smaller.</summary>
    public void AddLarger()
    {
        lock (_adding)
        {
            _larger++;
        }
    }

    public void AddFailure(string text)
    {
        lock (_adding)
        {
            _failures.Add(text);
        }
    }
}
