namespace Millrace.Acme.Storage;

/// <summary>Where a process keeps its files if nothing is configured. Reads the environment; any thread.</summary>
internal static class DefaultFolders
{
    /// <summary>The folder for certificates that systemd gives a service; null if it gives none.</summary>
    public static string? OfService => StateOfService is { } state ? Path.Combine(state, "acme") : null;

    /// <summary>The folder that systemd gives a service for its state; null if it gives none.</summary>
    public static string? StateOfService
    {
        get
        {
            // systemd names several folders, separated by colons.
            string state = Environment.GetEnvironmentVariable("STATE_DIRECTORY")?.Split(':')[0] ?? "";
            return state.Length > 0 ? state : null;
        }
    }

    /// <summary>The environment variable that decides where the user's data folder is.</summary>
    public static string VariableOfUser =>
        Path.IsPathRooted(Environment.GetEnvironmentVariable("XDG_DATA_HOME")) ? "XDG_DATA_HOME" : "HOME";

    /// <summary>Millrace's folder in the user's data folder; null if the user has none.</summary>
    public static string? OfUser
    {
        get
        {
            string data = Environment.GetFolderPath(
                Environment.SpecialFolder.LocalApplicationData, Environment.SpecialFolderOption.DoNotVerify);
            return data.Length > 0 ? Path.Combine(data, "millrace") : null;
        }
    }
}
