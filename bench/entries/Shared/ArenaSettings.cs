using System.Globalization;
using System.Net;

namespace Millrace.Arena;

/// <summary>
/// Where an entry listens and what it serves. The defaults are the board's; variables replace them, so that the same program runs beside
/// others on one machine. Invalid values throw when the program starts.
/// </summary>
internal sealed record ArenaSettings
{
    public IPAddress Address { get; private init; } = IPAddress.Any;

    /// <summary>HTTP/1.1 in cleartext; with <see cref="IsGrpc"/> HTTP/2 by prior knowledge.</summary>
    public int HttpPort { get; private init; }

    /// <summary>HTTP/1.1 over TLS.</summary>
    public int HttpsPort { get; private init; }

    /// <summary>HTTP/2 in cleartext, and nothing else.</summary>
    public int H2cPort { get; private init; }

    /// <summary>HTTP/2 over TLS.</summary>
    public int Http2Port { get; private init; }

    /// <summary>A folder with dataset.json and static/.</summary>
    public string Data { get; private init; } = "";

    public string Certificate { get; private init; } = "";

    public string Key { get; private init; } = "";

    public string Backend { get; private init; } = "";

    /// <summary>Zero: one for each core that the process may use.</summary>
    public int Reactors { get; private init; }

    public string Transport { get; private init; } = "";

    public bool IsGrpc { get; private init; }

    public static ArenaSettings FromEnvironment()
    {
        string certificates = Read("CERTS", "/certs");
        return new ArenaSettings
        {
            Address = IPAddress.Parse(Read("ADDRESS", "0.0.0.0")),
            HttpPort = Number("HTTP", 8080),
            HttpsPort = Number("HTTPS", 8081),
            H2cPort = Number("H2C", 8082),
            Http2Port = Number("HTTP2", 8443),
            Data = Path.GetFullPath(Read("DATA", "/data")),
            Certificate = Path.Combine(certificates, "server.crt"),
            Key = Path.Combine(certificates, "server.key"),
            Backend = Read("BACKEND", "auto"),
            Reactors = Number("REACTORS", 0),
            Transport = Read("TRANSPORT", "millrace"),
            IsGrpc = Read("GRPC", "off") == "on",
        };
    }

    private static string Read(string name, string standard) =>
        Environment.GetEnvironmentVariable($"ARENA_{name}") is { Length: > 0 } value ? value : standard;

    private static int Number(string name, int standard) =>
        int.Parse(Read(name, standard.ToString(CultureInfo.InvariantCulture)), CultureInfo.InvariantCulture);
}
