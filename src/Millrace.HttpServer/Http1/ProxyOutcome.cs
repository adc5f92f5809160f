namespace Millrace.HttpServer.Http1;

/// <summary>How a <see cref="ProxiedRequest"/> ended.</summary>
/// <param name="Status">The status of an error that is to be answered, or one of the values below.</param>
internal readonly record struct ProxyOutcome(int Status)
{
    /// <summary>It goes on.</summary>
    public static ProxyOutcome Pending => default;

    /// <summary>The response is written.</summary>
    public static ProxyOutcome Sent => new(1);

    /// <summary>The connection ends.</summary>
    public static ProxyOutcome Closed => new(2);

    public bool IsPending => Status == 0;

    public bool IsError => Status >= 400;

    public static ProxyOutcome Error(int status) => new(status);
}
