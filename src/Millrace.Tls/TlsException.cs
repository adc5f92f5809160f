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

    /// <summary>Whether the host refuses something (a permission, a missing library); otherwise an option or a file is wrong.</summary>
    internal bool IsHostRefusal { get; init; }
}
