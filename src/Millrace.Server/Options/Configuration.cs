using Millrace.Server.Options.Files;
using Millrace.Server.Options.Settings;
using Millrace.Server.Terminal;

namespace Millrace.Server.Options;

/// <summary>What this process is told: by its flags and its environment, once, and by a file, whenever that is read.</summary>
/// <param name="flags">What the command line says.</param>
/// <param name="path">The file; null where none was named. None is looked for.</param>
internal sealed class Configuration(SettingSet flags, string? path)
{
    /// <summary>The file, which the environment may have named as well.</summary>
    public string? Path { get; } =
        path ?? (Environment.GetEnvironmentVariable(VariableSettings.File) is { Length: > 0 } told ? told : null);

    /// <summary>The options as they are now; null, with complaints, where something is wrong.</summary>
    /// <param name="complaints">What is wrong.</param>
    /// <param name="started">What a running server was started with.</param>
    public ServeOptions? Read(out IReadOnlyList<Complaint> complaints, ServeOptions? started = null)
    {
        var found = new List<Complaint>();
        SettingSet variables = VariableSettings.Read(Environment.GetEnvironmentVariables(), found);
        FileSettings file = Path is null ? FileSettings.Empty : ConfigurationFile.Read(Path, found);
        ServeOptions options = Composition.Compose(flags, variables, file, found, started);

        // What all sites share is tried for each of them.
        complaints = [.. found.Distinct()];
        return complaints.Count == 0 ? options : null;
    }

    /// <summary>As they are now, or what is wrong on stderr.</summary>
    public ServeOptions? ReadOrComplain()
    {
        ServeOptions? options = Read(out IReadOnlyList<Complaint> complaints);
        foreach (Complaint complaint in complaints)
        {
            ErrorLine.Print(complaint.ToString());
        }

        return options;
    }
}
