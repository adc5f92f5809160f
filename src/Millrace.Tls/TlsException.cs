namespace Millrace.Tls;

/// <summary>
/// TLS cannot be served as configured: a certificate, a key or OpenSSL itself is missing or not valid. The message names the remedy.
/// </summary>
public sealed class TlsException : Exception
{
    /// <summary>Without a message.</summary>
    public TlsException()
    {
    }

    /// <summary>With a message.</summary>
    public TlsException(string message)
        : base(message)
    {
    }

    /// <summary>With a message and the cause.</summary>
    public TlsException(string message, Exception innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Whether an option or a file is wrong, as opposed to a refusal of the host (a permission, a missing library).</summary>
    internal bool IsMistake { get; init; } = true;
}
