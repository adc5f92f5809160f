using System.Net;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>Writes exchanges as lines, without line feeds. Not thread-safe.</summary>
internal interface ILineFormat
{
    /// <param name="line">The destination.</param>
    /// <param name="exchange">The exchange.</param>
    /// <param name="client">The client's address, if known.</param>
    void Write(LineBuffer line, HttpExchange exchange, IPAddress? client);
}

/// <summary>Creates the formats.</summary>
internal static class LineFormats
{
    /// <summary>The longest text of an IPv6 address with its scope.</summary>
    public const int AddressBytesMax = 65;

    /// <summary>As in nginx: the client disconnected before the response.</summary>
    private const int ClientClosed = 499;

    public static ILineFormat Make(AccessLogFormat format) => format switch
    {
        AccessLogFormat.Common => new NcsaFormat(isCombined: false),
        AccessLogFormat.Combined => new NcsaFormat(isCombined: true),
        _ => new JsonFormat(),
    };

    public static int StatusOf(HttpExchange exchange) => exchange.Status == HttpExchange.NoResponse ? ClientClosed : exchange.Status;
}
