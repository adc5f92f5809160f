using Millrace.Interop.Files;

namespace Millrace.Tls;

/// <summary>The file of TLS secrets for debugging (SSLKEYLOGFILE). Only its owner may read it. Any thread.</summary>
internal sealed class KeyLog : IDisposable
{
    private readonly FileStream _file;
    private readonly Lock _writing = new();
    private readonly TlsLog _log;

    /// <exception cref="TlsException">It cannot be written.</exception>
    public KeyLog(string path, TlsLog log)
    {
        _log = log;
        try
        {
            _file = new FileStream(path, new FileStreamOptions
            {
                Mode = FileMode.Append,
                Access = FileAccess.Write,
                Share = FileShare.ReadWrite,
                BufferSize = 0,
#pragma warning disable CA1416 // The engine runs on Linux only.
                UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite,
#pragma warning restore CA1416
            });
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            throw new TlsException(DescribeRefusal(path, FileProblem.Of(path, refusal), FileProblem.ErrnoOf(refusal)), refusal)
            {
                IsMistake = FileProblem.IsMistake(path, refusal),
            };
        }

        log.KeysLogged(path);
    }

    public static string DescribeRefusal(string path, string reason, int errno) =>
        $"The file for TLS secrets '{path}' cannot be written: {reason}. "
            + FileProblem.RemedyOf(errno, "Name a file in a folder that this user may write.");

    /// <summary>Appends a line. A failure is logged and does not affect the connection.</summary>
    public void TryWrite(ReadOnlySpan<byte> line)
    {
        try
        {
            byte[] whole = [.. line, (byte)'\n'];
            lock (_writing)
            {
                _file.Write(whole);
            }
        }
        catch (Exception failure) when (failure is IOException or ObjectDisposedException or UnauthorizedAccessException)
        {
            _log.KeyLogFailed(FileProblem.Of(_file.Name, failure));
        }
    }

    public void Dispose() => _file.Dispose();
}
