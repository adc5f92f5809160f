using System.Net.Sockets;
using Millrace.Storm;

namespace Millrace.Idle;

/// <summary>What an idle connection costs: the growth of the server's memory between few and many of them, after full collections.</summary>
internal static class IdleMemory
{
    /// <summary>Until then a client may well ask again, and a server keep what it had for that.</summary>
    private static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(5);

    public static bool Measure(IdleOptions options, string root)
    {
        using var server = new ServedSite(options.Server, root);
        var connections = new List<Socket>();
        try
        {
            double few = MeasureAt(options.Few, server, connections);
            double many = MeasureAt(options.Many, server, connections);
            double bytes = (many - few) * 1024 * 1024 / (options.Many - options.Few);
            int ended = connections.Count(static socket => socket.Poll(0, SelectMode.SelectRead));
            bool isGood = bytes <= options.BytesMax && ended == 0;
            Console.WriteLine($"idle connections: {few:f1} MB with {options.Few:N0}, {many:f1} MB with {options.Many:N0}: "
                + $"{bytes:f0} bytes each (at most {options.BytesMax:f0}){(ended > 0 ? $"; {ended} were ended meanwhile" : "")}");
            return isGood;
        }
        finally
        {
            connections.ForEach(static socket => socket.Dispose());
        }
    }

    private static double MeasureAt(int count, ServedSite server, List<Socket> connections)
    {
        while (connections.Count < count)
        {
            connections.Add(Open(server.Port));
        }

        Thread.Sleep(IdleTime);
        FullCollection.Of(server.ProcessId);
        return server.ResidentMb;
    }

    /// <summary>A connection that was served once: what it needed for that it has given back.</summary>
    private static Socket Open(int port)
    {
        Socket socket = Loopback.Connect(port);
        NormalClient.Ask(socket, new byte[16 * 1024]);
        return socket;
    }
}
