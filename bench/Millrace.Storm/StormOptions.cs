using System.Globalization;

namespace Millrace.Storm;

/// <summary>What the command line asked for.</summary>
internal sealed record StormOptions
{
    public const string Usage = """
        storm: deploys a site over and over under clients that check every byte.

          --server COMMAND   what serves: {root} and {port} are filled in
          --folder FOLDER    where the site is made, and removed afterwards
          --seconds N        how long (60)
          --fresh-ms N       in which time a deployment must be seen (100)
          --pause-ms N       between two requests of a client (5); 0 is all that the machine can do, its own delays included
          --seed N           which storm (2026)

        """;

    public required string Server { get; init; }

    public required string Folder { get; init; }

    public double Seconds { get; init; } = 60;

    public double FreshMs { get; init; } = 100;

    public int PauseMs { get; init; } = 5;

    public int Seed { get; init; } = 2026;

    /// <summary>Null where they make no sense.</summary>
    public static StormOptions? Parse(string[] arguments)
    {
        var options = new StormOptions { Server = "", Folder = "" };
        foreach (string[] pair in arguments.Chunk(2))
        {
            if (pair.Length < 2)
            {
                return null;
            }

            StormOptions? next = pair[0] switch
            {
                "--server" => options with { Server = pair[1] },
                "--folder" => options with { Folder = pair[1] },
                "--seconds" => options with { Seconds = double.Parse(pair[1], CultureInfo.InvariantCulture) },
                "--fresh-ms" => options with { FreshMs = double.Parse(pair[1], CultureInfo.InvariantCulture) },
                "--pause-ms" => options with { PauseMs = int.Parse(pair[1], CultureInfo.InvariantCulture) },
                "--seed" => options with { Seed = int.Parse(pair[1], CultureInfo.InvariantCulture) },
                _ => null,
            };
            if (next is null)
            {
                return null;
            }

            options = next;
        }

        return options.Server.Length > 0 && options.Folder.Length > 0 ? options : null;
    }
}
