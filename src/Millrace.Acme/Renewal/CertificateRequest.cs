namespace Millrace.Acme.Renewal;

/// <summary>A certificate that is wanted: its names, the kind of its key, and the folder that it is stored in. Immutable.</summary>
internal sealed record CertificateRequest(IReadOnlyList<string> Names, AcmeKeyKinds Kind, string Folder)
{
    /// <summary>All that the options want, in their order.</summary>
    /// <exception cref="AcmeConfigurationException">The message names the option and the remedy.</exception>
    public static IReadOnlyList<CertificateRequest> All(AcmeOptions options, AcmeChallengeTypes answered)
    {
        IReadOnlyList<(IReadOnlyList<string> Names, AcmeKeyKinds Kind)> certificates = OptionChecks.Certificates(options, answered);
        IReadOnlyList<string> folders = CertificateNames.Folders(certificates);
        OptionChecks.RequireDistinct(folders);
        return [.. certificates.Zip(folders, static (one, folder) => new CertificateRequest(one.Names, one.Kind, folder))];
    }

    /// <summary>Whether another one is for the same names in the same folder.</summary>
    public bool IsSame(CertificateRequest other) => Folder == other.Folder && Names.SequenceEqual(other.Names, StringComparer.Ordinal);
}
