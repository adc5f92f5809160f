using System.Globalization;
using System.Net;
using System.Text.Json;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine;
using Millrace.Http3Load;
using Millrace.Quic.Congestion;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;
using Millrace.Tls;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Quic;

// http3load ADDRESS PORT AUTHORITY TARGETS CONNECTIONS STREAMS SECONDS [NAME:VALUE...]
//
// Asks for the targets in turn (a file of lines "path bytes"), as often as goes, over so many connections with so many streams each. The
// window begins when all connections are there. Prints one line of JSON. The server's certificate is for "localhost".
CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
if (args.Length < 7)
{
    Console.Error.WriteLine("http3load ADDRESS PORT AUTHORITY TARGETS CONNECTIONS STREAMS SECONDS [NAME:VALUE...]");
    return 2;
}

var endPoint = new IPEndPoint(IPAddress.Parse(args[0]), int.Parse(args[1], CultureInfo.InvariantCulture));
int connections = int.Parse(args[4], CultureInfo.InvariantCulture);
var plan = LoadPlan.Read(args[3], int.Parse(args[5], CultureInfo.InvariantCulture), args[7..]);
var window = TimeSpan.FromSeconds(double.Parse(args[6], CultureInfo.InvariantCulture));

using var tls = TlsClient.Create(args[2], NullLoggerFactory.Instance, isForQuic: true);
TlsTarget target = tls.TargetOf("localhost", endPoint.Port);
QuicSettings settings = QuicSettings.Default with
{
    Congestion = CongestionAlgorithm.Cubic,

    // As curl and browsers: no window holds a fast server back.
    Streams = StreamSettings.Default with
    {
        ConnectionWindowBytes = 16 * 1024 * 1024,
        ConnectionWindowBytesMax = 16 * 1024 * 1024,
        StreamWindowBytes = 4 * 1024 * 1024,
        StreamWindowBytesMax = 4 * 1024 * 1024,
    },
};
var tally = new Tally();
var log = new QuicTransportLog(NullLogger.Instance);
var keys = QuicTokenKeys.Create();
await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1, WatchForStalls = false });
Reactor reactor = group.Reactors[0];
var loads = new List<(LoadConnection Load, QuicClientConnection Connection)>();
await reactor.PostAsync(() =>
{
    for (int i = 0; i < connections; i++)
    {
        var load = new LoadConnection(plan, tally, i);
        loads.Add((load, QuicClient.Connect(
            reactor, endPoint, settings, new OpenSslQuicCryptography(keys),
            target.ConnectQuic([new ApplicationProtocol("h3")]), load, log)));
    }
});

for (int waited = 0; waited < 100 && tally.Connected + tally.Closed < connections; waited++)
{
    await Task.Delay(100);
}

if (tally.Connected < connections)
{
    Console.Error.WriteLine($"Only {tally.Connected} of {connections} connections: {tally.Reason ?? "no answer"}");
    return 1;
}

await reactor.PostAsync(tally.Restart);
long began = System.Diagnostics.Stopwatch.GetTimestamp();
await Task.Delay(window);
string said = "";
await reactor.PostAsync(() =>
{
    double seconds = System.Diagnostics.Stopwatch.GetElapsedTime(began).TotalSeconds;
    said = JsonSerializer.Serialize(new
    {
        requests = tally.Requests,
        bytes = tally.Bytes,
        seconds,
        p50_us = tally.QuantileUs(0.5),
        p99_us = tally.QuantileUs(0.99),
        resets = tally.Resets,
        wrong = tally.Wrong,
        closed = tally.Closed,
        reason = tally.Reason ?? "",
    });
    foreach ((LoadConnection load, QuicClientConnection connection) in loads)
    {
        load.End();
        connection.Close(LoadConnection.CloseCode, "");
    }
});
Console.WriteLine(said);
return 0;
