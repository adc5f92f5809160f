namespace Millrace.Http;

/// <summary>What is wrong with a frame, and what that ends. The default is that nothing is wrong.</summary>
internal readonly record struct Http2Fault(Http2Error Error, FaultScope Scope)
{
    public bool IsNone => Error == Http2Error.NoError;

    public static Http2Fault OfConnection(Http2Error error) => new(error, FaultScope.Connection);

    public static Http2Fault OfStream(Http2Error error) => new(error, FaultScope.Stream);
}
