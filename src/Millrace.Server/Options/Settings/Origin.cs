using System.Globalization;

namespace Millrace.Server.Options.Settings;

/// <summary>Where something was said.</summary>
/// <param name="Source">By whom.</param>
/// <param name="Position">Where in the file.</param>
internal sealed record Origin(SettingSource Source, FilePosition? Position = null)
{
    public static Origin Flag { get; } = new(SettingSource.Flag);

    public static Origin Variable { get; } = new(SettingSource.Variable);

    /// <summary>What an option is called there.</summary>
    public string NameOf(ServerOption option) => Source switch
    {
        SettingSource.Flag => option.Flag,
        SettingSource.Variable => option.Variable,
        _ => option.Path,
    };
}

/// <summary>A place in a file, as editors and compilers count: from 1.</summary>
internal sealed record FilePosition(string Path, int Line, int Column)
{
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Path}:{Line}:{Column}");
}
