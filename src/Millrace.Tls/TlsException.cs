namespace Millrace.Tls;

/// <summary>
/// TLS cannot be served as asked for: a certificate, a key or OpenSSL itself is not as it must be. The message says what to do.
/// </summary>
public sealed class TlsException : Exception
{
    /// <summary>Says nothing but that.</summary>
    public TlsException()
    {
    }

    /// <summary>Says what and why.</summary>
    public TlsException(string message)
        : base(message)
    {
    }

    /// <summary>Says what, why, and what it came from.</summary>
    public TlsException(string message, Exception innerException)
        : base(message, innerException)
    {
    }
}
