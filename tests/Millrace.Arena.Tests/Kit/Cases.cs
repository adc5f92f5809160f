namespace Millrace.Arena.Tests.Kit;

/// <summary>The entries that take part in a group of profiles, on each backend.</summary>
public static class Cases
{
    private static readonly string[] Backends = ["io_uring", "epoll"];

    /// <summary>Baseline, pipelined, short-lived, json, json-tls.</summary>
    public static TheoryData<string, string> Applications => On("millrace-engine", "millrace-aspnet");

    /// <summary>json-comp, HTTP/2 and WebSockets.</summary>
    public static TheoryData<string, string> AspNet => On("millrace-aspnet");

    public static TheoryData<string, string> Grpc => On("millrace-grpc");

    /// <summary>static, static-tls, static-h2.</summary>
    public static TheoryData<string, string, BoardPort> Static =>
    [
        .. from entry in (string[])["millrace", "millrace-engine", "millrace-aspnet"]
           from backend in Backends
           from port in (BoardPort[])[BoardPort.Http, BoardPort.Https, BoardPort.Http2]
           where port != BoardPort.Http2 || entry != "millrace-engine"
           select (entry, backend, port),
    ];

    private static TheoryData<string, string> On(params string[] entries) =>
        [.. from entry in entries from backend in Backends select (entry, backend)];
}
