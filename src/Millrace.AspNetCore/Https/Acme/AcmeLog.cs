using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>Messages about serving certificates that are obtained; those about obtaining them have the category Millrace.Acme.</summary>
internal sealed partial class AcmeLog(ILogger logger)
{
    public static AcmeLog Of(ILoggerFactory logs) => new(logs.CreateLogger(TransportLog.ServerCategory));

    [LoggerMessage(
        130,
        LogLevel.Warning,
        "No certificate has been obtained yet for {Names}: until the authority issues one, a self-signed one is served, which clients "
            + "refuse.",
        EventName = "SelfSigned")]
    public partial void SelfSigned(string names);

    [LoggerMessage(
        131, LogLevel.Error, "The certificates of {EndPoint} stay as they are: {Reason}", EventName = "ObtainedUnusable")]
    public partial void ObtainedUnusable(EndPoint endPoint, string reason);

    [LoggerMessage(
        132,
        LogLevel.Warning,
        "Authorities validate {Names} by HTTP-01, on port 80, and no endpoint has plain HTTP: listen on port 80 too, or have Millrace "
            + "terminate TLS by UseMillrace and UseMillraceHttps(https => https.UseAcme()), which is validated on port 443.",
        EventName = "NoPlainEndPoint")]
    public partial void NoPlainEndPoint(string names);
}
