using System.Globalization;

namespace Millrace.Idle;

/// <summary>What the command line asked for.</summary>
internal sealed record IdleOptions
{
    public const string Usage = """
        idle: what thousands of connections cost that do nothing, or hardly anything.

          --server COMMAND   what serves: {root} and {port} are filled in
          --folder FOLDER    where the site is made, and removed afterwards
          --few N, --many N  idle connections at the two points where memory is read (5000, 15000)
          --slow N           slow readers, and slow senders (5000)
          --seconds N        how long the normal client is measured, before and during (10)
          --patience N       seconds in which all slow ones must have been ended (120)
          --bytes-max N      bytes that an idle connection may cost (600)

        """;

    public required string Server { get; init; }

    public required string Folder { get; init; }

    public int Few { get; init; } = 5_000;

    public int Many { get; init; } = 15_000;

    public int Slow { get; init; } = 5_000;

    public double Seconds { get; init; } = 10;

    public double Patience { get; init; } = 120;

    public double BytesMax { get; init; } = 600;

    /// <summary>Null where they make no sense.</summary>
    public static IdleOptions? Parse(string[] arguments)
    {
        var options = new IdleOptions { Server = "", Folder = "" };
        foreach (string[] pair in arguments.Chunk(2))
        {
            IdleOptions? next = pair is not [var name, var value] ? null : name switch
            {
                "--server" => options with { Server = value },
                "--folder" => options with { Folder = value },
                "--few" => options with { Few = Count(value) },
                "--many" => options with { Many = Count(value) },
                "--slow" => options with { Slow = Count(value) },
                "--seconds" => options with { Seconds = double.Parse(value, CultureInfo.InvariantCulture) },
                "--patience" => options with { Patience = double.Parse(value, CultureInfo.InvariantCulture) },
                "--bytes-max" => options with { BytesMax = double.Parse(value, CultureInfo.InvariantCulture) },
                _ => null,
            };
            if (next is null)
            {
                return null;
            }

            options = next;
        }

        return options.Server.Length > 0 && options.Folder.Length > 0 && options.Few < options.Many ? options : null;
    }

    private static int Count(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
