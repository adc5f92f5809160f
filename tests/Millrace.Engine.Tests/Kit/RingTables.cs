using System.Globalization;

namespace Millrace.Engine.Tests.Kit;

/// <summary>The tables of files of all rings that this process has, as the kernel shows them.</summary>
internal static class RingTables
{
    private const string Slots = "UserFiles:";
    private const string Socket = "socket:[";

    /// <summary>Waits until so many sockets are in them.</summary>
    public static Task HoldAsync(int sockets) => Waiting.UntilAsync(
        () => CountSockets() == sockets, () => Task.FromResult($"{sockets} sockets are in the table; {CountSockets()} are"));

    /// <summary>Waits until one has so many slots.</summary>
    public static Task HaveRoomAsync(int slots) => Waiting.UntilAsync(
        () => Rooms().Contains(slots), () => Task.FromResult($"a table has {slots} slots; there are {string.Join(", ", Rooms())}"));

    private static int CountSockets() => Tables().Sum(static text => text.Split(Socket).Length - 1);

    private static int[] Rooms() => [.. Tables()
        .Select(static text => text.Split('\n').Single(static line => line.StartsWith(Slots, StringComparison.Ordinal)))
        .Select(static line => int.Parse(line[Slots.Length..], CultureInfo.InvariantCulture))];

    /// <summary>A ring that is submitted to in this moment says nothing of its own.</summary>
    private static IEnumerable<string> Tables() => Directory.GetFiles("/proc/self/fd")
        .Where(static path => new FileInfo(path).LinkTarget == "anon_inode:[io_uring]")
        .Select(static path => ReadFacts(path.Replace("/fd/", "/fdinfo/", StringComparison.Ordinal)))
        .Where(static text => text.Contains(Slots, StringComparison.Ordinal));

    private static string ReadFacts(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (IOException)
        {
            // It was closed since it was listed.
            return "";
        }
    }
}
