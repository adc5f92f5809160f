using System.Net;
using Millrace.Web.Exchanges;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>Writes exchanges as lines, without their line feeds. One thread's.</summary>
internal interface ILineFormat
{
    /// <param name="line">Where to.</param>
    /// <param name="exchange">What is told of.</param>
    /// <param name="client">Whose request it was, as far as is known.</param>
    void Write(LineBuffer line, Exchange exchange, IPAddress? client);
}

/// <summary>The formats by their names.</summary>
internal static class LineFormats
{
    /// <summary>An address of IPv6 with its scope, in the longest spelling.</summary>
    public const int AddressBytesMax = 65;

    /// <summary>What nginx says of a request whose client did not wait for an answer: there is no status for none.</summary>
    private const int ClientClosed = 499;

    public static ILineFormat Make(AccessLogFormat format) => format switch
    {
        AccessLogFormat.Common => new NcsaFormat(isCombined: false),
        AccessLogFormat.Combined => new NcsaFormat(isCombined: true),
        _ => new JsonFormat(),
    };

    public static int StatusOf(Exchange exchange) => exchange.Status == Exchange.Unanswered ? ClientClosed : exchange.Status;
}
