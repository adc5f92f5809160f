using Millrace.StaticFiles.Pages;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Whether a site is in maintenance: as long as a file exists. It is checked twice a second on the thread pool; reactors read the result.
/// Any thread. A file that cannot be read counts, without its content.
/// </summary>
internal sealed class MaintenanceSwitch : IDisposable
{
    /// <summary>A larger file is not a page.</summary>
    private const int PageBytesMax = 1024 * 1024;

    private static readonly TimeSpan CheckInterval = TimeSpan.FromSeconds(0.5);

    private readonly string _file;
    private readonly Action<bool>? _onChanged;
    private readonly Lock _checking = new();
    private readonly ITimer _timer;
    private (long Length, DateTime WrittenAt) _read;
    private volatile Maintenance? _current;

    /// <param name="file">The file.</param>
    /// <param name="onChanged">Called on the pool when maintenance has begun or ended.</param>
    /// <param name="time">Drives the checks.</param>
    public MaintenanceSwitch(string file, Action<bool>? onChanged, TimeProvider time)
    {
        _file = file;
        _onChanged = onChanged;
        Check();
        _timer = time.CreateTimer(_ => Check(), null, CheckInterval, CheckInterval);
    }

    /// <summary>The present maintenance; null if the site is served.</summary>
    public Maintenance? Current => _current;

    /// <summary>Checks the file now. Does nothing while another thread checks, which may wait for a file server.</summary>
    public void Check()
    {
        if (!_checking.TryEnter())
        {
            return;
        }

        try
        {
            bool was = _current is not null;
            _current = Path.Exists(_file) ? Read(_current) : null;
            if (was != _current is not null)
            {
                _onChanged?.Invoke(!was);
            }
        }
        finally
        {
            _checking.Exit();
        }
    }

    public void Dispose() => _timer.Dispose();

    private Maintenance Read(Maintenance? previous)
    {
        try
        {
            var info = new FileInfo(_file);
            (long, DateTime) present = (info.Length, info.LastWriteTimeUtc);
            if (previous is not null && present == _read)
            {
                return previous;
            }

            _read = present;
            byte[] bytes = info.Length is > 0 and <= PageBytesMax ? File.ReadAllBytes(_file) : [];
            return IsHtml(bytes) ? new Maintenance(GeneratedDocument.WithoutTag(bytes, PageStyle.HtmlType)) : Maintenance.WithoutPage;
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // A directory, a file of another user, one that was removed since: what counts is that it was there.
            _read = default;
            return Maintenance.WithoutPage;
        }
    }

    /// <summary>Whether the content is a page, and not a note of who works on what.</summary>
    private bool IsHtml(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> text = bytes.StartsWith<byte>([0xef, 0xbb, 0xbf]) ? bytes[3..] : bytes;
        bool isNamedSo = Path.GetExtension(_file) is ".html" or ".htm";
        return text.TrimStart(" \t\r\n"u8) is [(byte)'<', ..] || (isNamedSo && !text.IsEmpty);
    }
}

/// <summary>A maintenance, with the page to show instead of the site's for 503. Immutable.</summary>
internal sealed record Maintenance(GeneratedDocument? Page)
{
    public static readonly Maintenance WithoutPage = new((GeneratedDocument?)null);

    /// <summary>When clients may ask again, in seconds.</summary>
    public static ReadOnlySpan<byte> RetryAfterSeconds => "60"u8;
}
