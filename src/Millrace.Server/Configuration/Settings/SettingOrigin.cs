using System.Globalization;

namespace Millrace.Server.Configuration.Settings;

/// <summary>The origin of a setting.</summary>
/// <param name="Source">The kind of source.</param>
/// <param name="Position">The position in the file.</param>
internal sealed record SettingOrigin(SettingSource Source, FilePosition? Position = null)
{
    public static SettingOrigin Flag { get; } = new(SettingSource.Flag);

    public static SettingOrigin Variable { get; } = new(SettingSource.Variable);

    /// <summary>The option's name in this source.</summary>
    public string NameOf(ServerOption option) => Source switch
    {
        SettingSource.Flag => option.Flag,
        SettingSource.Variable => option.Variable,
        _ => option.Path,
    };
}

/// <summary>A position in a file, counted from 1 as in editors and compilers.</summary>
internal sealed record FilePosition(string Path, int Line, int Column)
{
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Path}:{Line}:{Column}");
}

/// <summary>The sources of options, in order of precedence.</summary>
internal enum SettingSource
{
    Flag,
    Variable,
    File,
}
