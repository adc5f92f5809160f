namespace Millrace.Server.Doctor;

/// <summary>What a finding means for serving, from good to bad. The worst one is the exit code of <c>millrace doctor</c>.</summary>
internal enum Judgement
{
    Ok = 0,

    /// <summary>It serves, but slower or less than it could.</summary>
    Slower = 1,

    /// <summary>It cannot serve like this.</summary>
    Broken = 2,
}
